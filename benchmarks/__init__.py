"""Scripts that measure ravine: `papers` repeats published tables, `peers` compares with other libraries in one run."""
