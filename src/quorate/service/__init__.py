"""The live web service: experts vote from an inbox, managers watch, programs use the API."""
