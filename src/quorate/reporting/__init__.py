"""Numbers into tables, plots and self-contained pages."""
