"""Analysis of the records: functions from data frames to data frames."""
