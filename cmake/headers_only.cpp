// A room with headers only still is a library: this gives it its one object file.
