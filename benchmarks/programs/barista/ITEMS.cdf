[[ITEMS.BSHO]]
rem --- Before the form is shown
use ::ado_util.src::util
callpoint!.setDevObject("changed","no")

[[ITEMS.PRICE.AVAL]]
rem --- A price is never negative
if num(callpoint!.getUserInput()) < 0 then callpoint!.setStatus("ABORT")

[[ITEMS.ADIS]]
[[ITEMS.<CUSTOM>]]
#include std_functions.src
