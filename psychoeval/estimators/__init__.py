"""Estimators: one method on one engine, one folder an engine."""
