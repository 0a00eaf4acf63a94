"""Shards on Ray: a driver deals them to workers, and deals them anew when one is lost or more are wanted."""
