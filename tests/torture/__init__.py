"""What is done to the project to make it lose a row, repeat one, or crash; the short form runs with the other tests."""
