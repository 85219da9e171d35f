"""Routes and what is told about them.

- ``routes``: each reads a request in its protocol, has it answered, and writes the answer
- ``shortcut``: the straight way to those that are asked most
- ``schema``: columns, levels and ranges of a model
- ``openapi``: the same, and the bodies of all routes, as OpenAPI
"""
