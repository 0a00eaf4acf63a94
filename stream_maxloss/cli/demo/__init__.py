"""The stream and the two learners of `maxloss demo`."""
