"""One script for the published tables of one chapter; `compare` is what they share."""
