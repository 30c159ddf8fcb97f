mbus4.new_temporary_queue()
