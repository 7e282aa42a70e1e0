select change, count(*) from touched group by change
