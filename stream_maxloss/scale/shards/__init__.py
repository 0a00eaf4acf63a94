"""A run cut into shards, each a run of its own with its own checkpoints, wherever they are hosted."""
