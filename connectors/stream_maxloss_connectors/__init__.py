"""Arrow sources and sinks that can be resumed at a position without losing or repeating a row."""
