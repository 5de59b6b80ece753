"""One script a published table."""
