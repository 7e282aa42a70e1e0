[[ORDHDR.ASHO]]
rem --- After the form is shown: open what the callpoints below read
num_files = 1
dim open_tables$[1:num_files],open_opts$[1:num_files]
open_tables$[1] = "CUSTOMER", open_opts$[1] = "OTA"
gosub open_tables
#include std_missing_params.src

[[ORDHDR.CUSTOMER_ID.AVAL]]
rem --- After validation of the customer: refuse one that is on hold
customer_id$ = callpoint!.getUserInput()
gosub read_customer
if customer.on_hold$ = "Y" then
    callpoint!.setMessage("CUSTOMER_ON_HOLD")
    callpoint!.setStatus("ABORT")
endif

[[ORDHDR.BWRI]]
rem --- Before the record is written: an order has at least one line
if num(callpoint!.getDevObject("lines")) = 0 then
    callpoint!.setStatus("ABORT")
endif

[[ORDHDR.<CUSTOM>]]
rem --- Subroutines shared by the callpoints above
read_customer:
    customer_dev = fnget_dev("CUSTOMER")
    dim customer$:fnget_tpl$("CUSTOMER")
    read record (customer_dev,key=customer_id$,dom=*next) customer$
    return

open_tables:
    call "open_tables.bbj",open_tables$[all],open_opts$[all]
    return
