"""The page: forms and pictures over the questions of the API. It computes nothing by itself."""
