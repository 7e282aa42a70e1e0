select count(*) from {chunks}
