"""From a problem to its plan, and questions asked again: the order of their steps lies above, in `app`."""
