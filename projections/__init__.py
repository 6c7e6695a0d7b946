"""What is made from finished Emails: graph, chunk index, exports. They come in a later version."""
