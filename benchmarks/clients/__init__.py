"""Data as users of other libraries bring it: embeddings of texts and images."""
