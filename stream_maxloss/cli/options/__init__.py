"""What the words on the command line say, as objects."""
