insert into evaluation_runs
    (run_id, judged, judged_name, state, space_id, publications, config, report, compared_with, regressed)
values
    (%(run_id)s, %(judged)s, %(judged_name)s, %(state)s, %(space_id)s, %(publications)s, %(config)s, %(report)s,
     %(compared_with)s, %(regressed)s)
returning id
