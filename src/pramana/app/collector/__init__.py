"""The collector: the respondents' page, the organiser's page, and the small interface between device and store."""
