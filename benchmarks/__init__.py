"""What quorate costs in time and memory, measured."""
