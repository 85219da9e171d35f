"""How true the attributions are, on real tables and on tables whose truth is known."""
