"""The weights of the decision of need, as `python -m benchmarks.silence.fit` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "constant": -3.549,
    "asks": 4.669,
    "asks, known": -3.665,
    "begins as a question": 0.9681,
    "begins as a question, unknown": -4.27,
    "body only": -1.995,
    "known": 1.814,
    "known in names": 1.083,
    "known, rarest": -1.607,
    "length": 0.7734,
    "long": 1.408,
    "named": 6.232,
    "named, alone": 0.9586,
    "pasted": 7.297,
    "places": 0.6169,
    "shaped": 1.599,
    "short": -4.198,
    "telling": 4.256,
    "telling words": 0.8755,
    "text, long": 1.879,
    "unknown": -2.486,
    "unknown, short": 2.717,
}
"""Weights of the logistic regression, by feature."""

_BY_WEIGHT = """
-2.25 you
-2.0 best
-1.75 build code
-1.5 commit run version
-1.25 me merge readme text than your
-1.0 ^do ^is ^run branch ci connect fix_the github good how_do i push this
-0.75 ^create ^push again and are_you changelog changes clean commits cost create do_i docker du errors
-0.75 first for_now how_much issue left long main me_a message model_are much my next not now open pr pull
-0.75 pull_request release replaced result run_the space start status_code tests the_issue the_result
-0.75 the_tests to_the unix working
-0.5 1 2 200 ^delete ^explain ^open ^rerun ^sorry ^try ^wait ^what's ^write a_regex all and_commit
-0.5 are_the away better can_you change check command_not commit_message continue create_a danke delete
-0.5 delete_the dependencies description did did_you difference difference_between do do_the end
-0.5 everything explain failed fails fix for_my git green http i_was install is_it let's lint make_a
-0.5 me_the mean model name none not_found on_github origin origin_main our pass plan points por post
-0.5 python regex remove_the request rerun review same_for server show_me simpler skip_it so sorry
-0.5 sorry_i suite test_suite testing the_commit the_difference the_first them three time today todo
-0.5 todo_list try wait what's what_are what_is would write wrong
-0.25 0 ^are ^bump ^clean ^continue ^did ^git ^good ^gracias ^haha ^how ^let's ^merge ^not ^only ^option
-0.25 ^rebase ^start ^sí ^tag ^what ^when a_different a_file a_good a_new a_pr a_pull a_short ahead
-0.25 another any anything back back_to bad between broken brotli bump but_keep by close come command
-0.25 comments conflicts content convert cool could could_not das die different do_you docs don't draft
-0.25 english environment exactly example fail file files find for_this for_today found give give_me
-0.25 go_ahead gracias great group haha host how_long i'm i_install i_set in_a is_there it_and it_in it_to
-0.25 job just keep keep_it kill la last later leave like linux local looks mac mach make_it makes many
-0.25 merci more much_does name_for one open_a option option_2 out passing please process really rebase
-0.25 rerun_the resolve rest restart right sense set shorter should_i show_the simple sounds split ssh
-0.25 status step still stop switch sí tag tag_it take tell tell_me thanks that that's the_branch
-0.25 the_commits the_last the_next the_pr the_release the_rest the_server the_time there_a to tree up_a
-0.25 update update_the use_the vim warning was way we weiter what write_a you_run your_last à
0.25 3 ^comment ^deprecate ^error ^finish ^fix ^rename ^show ^skip ^tests ^was ^why ^wo a_custom a_limit
0.25 a_redirect a_response a_test about add_type address an an_empty and_fix and_how app array arrays as
0.25 async big called calls can't can't_be case charset classes colors connection correct custom data
0.25 decoding deprecate digest_auth does does_the doesn't each empty every exception exceptions exit
0.25 finish finish_the get_the handle handler happens_if happens_when headers i_need i_pass ignore
0.25 is_missing it_for its itself json key les line load lose make map match matched memory mention
0.25 messages method mount need new number of_the ok old on_the only optional or outside own page part
0.25 per point pool port prefix print_the put query redirect rename replace return same search sending
0.25 show something sort startup streaming strip templates test_for the the_default the_exit the_header
0.25 the_host the_old the_order the_same their trailing twice type types unit unit_tests unknown up user
0.25 verify were what's_the when_i when_it when_the where_do where_is who_calls why_do wie_werden windows
0.25 with_an wo write_the written
0.5 ^add ^does ^dónde ^it ^list ^make ^no ^now ^ok ^print ^speed ^the ^then ^which adapter add after
0.5 agent all_the at_once at_the be before body bytes can_i config connections context cookie digest
0.5 do_it docstring dónde dónde_se fields from go how how_does http2 i_get ich if_the in is_a is_the it
0.5 keys know larger larger_than let_the loop make_the missing no notice number_of option_to output
0.5 params path print py register remove retry several size sont speed speed_up stream string test
0.5 the_body the_connection the_log the_multipart the_output the_response the_session thread transport
0.5 urls use user_agent what_about when_a where_are which wie_wird wird with
0.75 8 ^accept ^allow ^can ^let ^log ^remove ^use ^who ^wie ^как accept allow and_the at but by_default
0.75 cli configurable cookies deprecation for happens has have here in_the indentation it_should large
0.75 las let limits multipart nested once order_of records redirects response se session tests_for
0.75 the_cli then_the timeout too what_happens where who wie как
1.0 ^refactor ^support also are can client for_the groups how_is if instead instead_of log los methods
1.0 of of_a order proxies python_3 refactor then
1.25 ^where default does_it drop get how_are limit must when
1.5 header support url werden
1.75 ^and should
"""

PHRASES: Final[Mapping[str, float]] = {
    phrase: float(weight)
    for weight, *phrases in map(str.split, _BY_WEIGHT.strip().split("\n"))
    for phrase in phrases
}
"""Weights of the phrases of a prompt (see `need.phrases_of`), in steps of a quarter."""
