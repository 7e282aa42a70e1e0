delete from {chunks} where id in (select id from touched where change = 'deleted')
