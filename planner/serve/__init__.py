"""The planner as a service: an API, a page, and the processes that do the work. Needs the extra ``serve``."""
