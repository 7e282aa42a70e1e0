select n from wanted where n >= %(first)s and n < %(last)s
