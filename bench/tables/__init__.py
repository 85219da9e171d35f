"""The benchmark's real tables: where they come from, how they are read and checked."""
