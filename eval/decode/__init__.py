"""Decode measured on data of this project's own: charsets, languages, HTML. `python -m eval.decode` prints all."""
