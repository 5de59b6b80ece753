"""Ratios to other libraries, both sides measured in one run."""
