mbus4.new_temporary_consumer({qname}, {selector}, {k})
