"""Charts of reports: the only room that knows Altair and vl-convert; both come with the extra ``report``."""
