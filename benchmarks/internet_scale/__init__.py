"""What a million rows a second and a billion keys would need: a model of cost, and a simulation that checks it."""
