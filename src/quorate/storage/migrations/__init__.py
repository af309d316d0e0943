"""Versions of the tables, each a step from the one before it; Alembic runs them."""
