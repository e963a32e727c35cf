"""Evaluation logs: one file a format, one table of formats."""
