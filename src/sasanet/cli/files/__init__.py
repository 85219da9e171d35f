"""Files of the commands: tables are read, their columns typed, results written."""
