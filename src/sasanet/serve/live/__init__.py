"""What the live page at ``/`` asks for, besides predictions and explanations.

- ``explored``: a table's rows to choose from, and which of them are like a given one
- ``questions``: what one more known feature would add, recourse, groups
- ``csv_rows``: a CSV file in, the same with reasons out
- ``routes``: the routes of these questions, answered in a thread of their own
- ``files``: the page itself
"""
