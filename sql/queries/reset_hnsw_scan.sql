select set_config('enable_sort', 'on', true)
