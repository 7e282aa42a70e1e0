select add_question_gap(%(query)s, %(generation)s, %(hits)s::integer, %(strength)s::real)
