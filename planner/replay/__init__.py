"""A planned fleet, iteration by iteration: requests, engines and routers, and no queueing formula."""
