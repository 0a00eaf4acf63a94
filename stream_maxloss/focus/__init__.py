"""Focused Online Learning: any online learner as a minimiser of the maximal loss over a retained window."""
