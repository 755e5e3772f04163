module writer

go 1.24
