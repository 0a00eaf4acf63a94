"""The options of the command line, as objects."""
