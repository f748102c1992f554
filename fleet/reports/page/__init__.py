"""The parts of the HTML report: the matrix, the stories behind its cells, strips and drift."""
