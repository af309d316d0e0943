"""Studies that outlast the process: events, what is read of them, and draws, in SQLite or PostgreSQL."""
