"""The weights of the decision of need, as `python -m benchmarks.silence.fit` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "constant": -2.648,
    "asks": 3.493,
    "asks, known": -1.859,
    "begins as a question": 0.5327,
    "begins as a question, unknown": -3.052,
    "body only": -0.9723,
    "known": 0.9604,
    "known in names": 1.035,
    "known, rarest": -1.495,
    "length": 0.7859,
    "long": 1.245,
    "named": 5.197,
    "named, alone": 1.259,
    "pasted": 5.293,
    "places": 0.4807,
    "shaped": 1.378,
    "short": -3.991,
    "telling": 3.317,
    "telling words": 0.9359,
    "text, long": 1.124,
    "unknown": -1.953,
    "unknown, short": 3.122,
}
"""Weights of the logistic regression, by feature."""

_BY_WEIGHT = """
-2.5 you
-2.25 commit
-2.0 best branch
-1.75 ^is run
-1.5 build me your
-1.25 ^best ^check ^do create folder github good how_do i last merge open package pr space version what_is
-1.0 22 ^open ^run again cannot ci clean code commits cost do_i first fix_the git how_much issue left
-1.0 make_a my next not on_github plan pull push python readme release review run_the second_one tests
-1.0 the_last time tmp todo todo_list
-0.75 1 2 ^create ^delete ^fatal ^push ^rerun a_changelog and are_the are_you better changes connect
-0.75 connect_to continue could could_not create_a danke delete did difference difference_between do_in du
-0.75 end english explain fatal files fix great how_many install java json keep leave leave_the lint linux
-0.75 long looks main me_the mean merci message model model_are much name origin pass pip please por
-0.75 problem pull_request really replaced rerun server show_me simpler so start stash status_code than
-0.75 that the_branch the_commit the_first the_issue the_pr the_tests today try var was we what_are why_is
-0.75 without working
-0.5 0 4 ^are ^close ^commit ^draft ^explain ^git ^how ^keep ^kill ^option ^sorry ^start ^sí ^try ^wait
-0.5 ^what's ^when a_file a_pr about_our all any b back between can_you changelog command command_not
-0.5 comment commit_message commit_the commit_this content das delete_the denied dependencies device
-0.5 did_you docker don't_change draft enough entry exactly fail failed fails feature fine for_my for_now
-0.5 green group how_to i_was idempotent installed is_that it_in it_on it_shorter just keep_it kill later
-0.5 let's like lost mach many me_a new_branch node none not_found now npm ones open_a our passing
-0.5 permission permission_denied points postgres rebase regex regex_for rerun_the resolve rest right
-0.5 running same_for short shorter should_i skip_it sorry sorry_i suite sync sí tag take test_suite
-0.5 testing thanks that's the_order the_release the_rest them this_is to to_origin tree update
-0.5 update_the vim wait way weiter what's whatever with_the would write_a à 谢谢
-0.25 9 ^bump ^cherry-pick ^clean ^continue ^did ^difference ^docs ^go ^good ^gracias ^haha ^ja ^let's
-0.25 ^merci ^merge ^not ^npm ^only ^oui ^publish ^rebase ^sounds ^squash ^ssh ^summarize ^tag ^tell
-0.25 ^write ^yep ^yes ^you ^はい a_different a_good a_pull a_regex add_tests ahead and_commit answer
-0.25 anything as_the away back_to bash berlin both broken brotli bump but_keep called capital cherry-pick
-0.25 com come comments conflicts cool created der description dev dev_server develop different do_the
-0.25 do_you domain drop_the duplicate enough_for every everything example_org fast file find for_it
-0.25 for_today found german github_com give give_me go_ahead go_with gracias haha http https i'd i'm
-0.25 i_install i_use in is_it is_there it_works ja keep_the la list local logs mac made makes makes_sense
-0.25 matches much_does nice no_leave of_this ok option option_2 or org origin_main oui oui_vas-y per
-0.25 perfecto port post process publish push_to recommend reduce remove_the reply repository request
-0.25 requests restart result result_of runs rust saved script see sense sent set show_the simple sounds
-0.25 sounds_good squash ssh ssl status step steps stop summarize switch tag_it take_a tell tell_me text
-0.25 that's_the the_commits the_default the_dev the_difference the_file the_lock the_message the_next
-0.25 the_old the_server the_time the_weather there_a these think this_as threads three to_the tokyo
-0.25 tomorrow two und unix up_a upload use_the vas-y version_to warning weather what_i write yep yes
-0.25 you_run your_last はい
0.25 8 ^also ^an ^comment ^document ^dónde ^error ^fix ^füge ^json ^move ^no ^raise ^release ^rename
0.25 ^replace ^revert ^show ^skip ^translate ^undo ^use ^who a_custom a_response a_second adapter add_an
0.25 add_type address_of also_work although an_empty an_error app before big buffer bug but_the calls
0.25 can't can't_be chain change classes cli colors commit_then configuration connection correct crashes
0.25 custom data dates decoding deprecate_the deprecated digest digest_auth do_it docs_for does don't
0.25 done dónde dónde_se el encoding environment exit file_has file_is finish_the first_one folders
0.25 for_that form function functions füge generic get_rid go good_now handler handlers has_no headers
0.25 hints hinzu i_get i_need i_pass id if_i ignore improve input is_a is_not isn't it_is it_was its las
0.25 last_change let_me let_the limit_the line links loaded localhost lock logger lose lose_their make
0.25 map match matched max mode month move needs negative never no_it numbers objects of of_a of_the only
0.25 only_for other outside own pick pool prefix progress query raise reading refactor_the rename replace
0.25 responses revert rid rid_of search sending settings should_be show slow streaming string strings
0.25 strip support_for test that_it the_cli the_configuration the_connection the_deprecated
0.25 the_environment the_exception the_exit the_host the_limit the_list the_logger the_number the_other
0.25 the_page the_same the_second the_session the_user they thread_safe trailing translate turn
0.25 type_hints types uploads use_a used users value values verify were what's_the when_i when_is
0.25 where_are where_is who who_calls why_do why_does why_not wird_das with with_a without_a writes
0.25 written
0.5 ^a ^default ^deprecate ^does ^don't ^list ^make ^now ^remove ^retry ^then ^whats ^which ^wie ^как
0.5 a_limit a_new a_test add_a agent all_the and_fix and_the are_shown arrays as_a async at_once at_the
0.5 body but by by_default bytes cache call case check_that class closed closing color configurable
0.5 connection_is deprecate do_we docstring einen empty enum error_messages exception expose fields flag
0.5 for for_large format free from_a from_the für gesetzt happens_to have how_does http2 i_add if_the
0.5 indentation index into is is_never is_this it it_should know larger larger_than let limits load
0.5 login loop memory messages module names nothing notice number_of of_range ok_but old on_windows once
0.5 optional out out_of où page path permissions point range register remove report return safe says
0.5 second_argument several shown since something sorted stream test_for that_was the_body the_config
0.5 the_export the_input the_multipart the_output the_request the_retry their then_the there this thread
0.5 unknown up urls user_agent whats whats_the when_a when_the where_do which why wie wie_werden windows
0.5 wird как
0.75 ^better ^but ^implement ^it ^let ^log ^print ^speed ^the ^where's ^why ^wo add after_a also argument
0.75 at by_one can can_i chunk_size config connections constants context cookie cookies csv deprecation
0.75 die each from gives groups has help here if implement is_missing is_still it_to keys large les
0.75 method middleware multipart must new off off_by order order_of output params print print_the proxies
0.75 public py records redirects sont sort speed speed_up the_client the_new the_parser the_response
0.75 timeout too transport une what_do where where's where's_the wo
1.0 ^accept ^allow ^drop ^refactor ^support ^tests accept after allow date de default drop exceptions
1.0 export get hangs how instead_of limit los make_the maximum methods missing nested null on option_to
1.0 parser python_3 refactor response retry se session still stored the then undo werden what_about
1.0 what_happens
1.25 ^and ^can are client does_it helper how_are instead log size support url
1.5 ^where callback for_the header tests_for twice
1.75 happens how_is should startup when
2.0 in_the
"""

PHRASES: Final[Mapping[str, float]] = {
    phrase: float(weight)
    for weight, *phrases in map(str.split, _BY_WEIGHT.strip().split("\n"))
    for phrase in phrases
}
"""Weights of the phrases of a prompt (see `need.phrases_of`), in steps of a quarter."""
