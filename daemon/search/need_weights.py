"""The weights of the decision of need, as `python -m benchmarks.silence.fit` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
    "constant": -2.464,
    "asks": 3.462,
    "asks, known": -2.249,
    "begins as a question": 0.4847,
    "begins as a question, unknown": -4.209,
    "body only": -1.338,
    "known": 1.341,
    "known in names": 0.8743,
    "known, rarest": -1.485,
    "length": 0.8957,
    "long": 1.117,
    "named": 6.148,
    "named, alone": 1.419,
    "pasted": 7.235,
    "places": 0.3495,
    "shaped": 1.542,
    "short": -5.347,
    "telling": 4.039,
    "telling words": 0.8054,
    "text, long": 1.465,
    "unknown": -2.164,
    "unknown, short": 2.9,
}
"""Weights of the logistic regression, by feature."""

_BY_WEIGHT = """
-2.5 you
-2.25 best
-2.0 build run
-1.75 commit
-1.5 branch me
-1.25 ^is ci code commits connect fix_the github good merge readme version your
-1.0 ^do ^run again and changelog clean docker first how_do i issue left my next not plan pr pull push
-1.0 python run_the space status_code tests than the_issue todo todo_list what_is
-0.75 ^create ^open ^rerun are_the are_you better changes continue cost create create_a danke dependencies
-0.75 do_i du end english explain failed files fix for_now git green how_much install is_it la main make_a
-0.75 merci message model model_are much name on_github open pass permission please por pull_request
-0.75 really release replaced rerun review server start testing that the_commit the_first time to_the
-0.75 today unix way we what_are working à
-0.5 1 2 ^bump ^clean ^explain ^haha ^how ^push ^sorry ^start ^sí ^try ^wait ^what's ^write a_file a_good
-0.5 and_commit any bump but_keep can_you change command_not commit_message conflicts das delete_the
-0.5 description did difference difference_between draft errors everything exactly fail fails for_my
-0.5 german great group haha how_many http i_was it_in just keep keep_it last let's lint long looks many
-0.5 me_a me_the mean much_does none not_found ones origin origin_main our passing points post rebase
-0.5 rerun_the rest result result_of right shorter should_i show_me simple simpler skip_it so sorry
-0.5 sorry_i ssh suite sí tag take test_suite text that's the_difference the_next the_pr the_release
-0.5 the_tests them there_a tree try update_the wait weiter what's write write_a 谢谢
-0.25 0 200 3 ^are ^continue ^delete ^did ^git ^good ^gracias ^great ^ja ^let's ^merci ^merge ^not ^only
-0.25 ^option ^oui ^rebase ^revert ^sounds ^squash ^summarize ^tag ^tell ^was ^when ^yep ^yes ^you ^はい
-0.25 a_commit a_different a_pr a_pull a_regex a_short ahead all anything auth away back back_to berlin
-0.25 between broken brotli capital check class close come comment comments content cool could could_not
-0.25 delete dev dev_server did_you diff different do do_the do_you docs domain example find fine
-0.25 for_today found give give_me go_ahead go_with gracias has_a host i'd i'm i_install i_set in in_a
-0.25 is_that it_and it_on it_shorter it_works ja kill later leave like linux list local mac mach makes
-0.25 makes_sense master more name_for nice now of_this open_a option_2 oui oui_vas-y out parent perfecto
-0.25 process read_the recommend reduce regex remove_the reply request resolve restart revert same_for see
-0.25 sense set short show_the sounds sounds_good squash squash_the status step steps stop summarize
-0.25 switch tag_it take_a tell tell_me thanks that's_the the_branch the_changes the_commits the_dev
-0.25 the_file the_last the_rest the_result the_server the_time think this_is three to to_me tokyo
-0.25 tomorrow up_a update use_the vas-y vim warning what_i whole why_is would yep yes your_last はい
0.25 ^a ^add ^after ^also ^comment ^convert ^document ^dónde ^error ^fix ^füge ^no ^ok ^release ^replace
0.25 ^retry ^show ^skip ^tests ^warum a_custom a_limit a_response a_test a_warning adapter add_type
0.25 address address_of agent already also_work an an_empty an_error and_fix and_for and_how app array as
0.25 big body both by calls case classes colors command configuration connections convert correct crashes
0.25 custom data day decoding deprecate_the digest do_it docstring document doesn't dónde dónde_se empty
0.25 error every exception exit fields for_this form format functions füge get_rid get_the go good_now
0.25 handle handler handlers has_no headers hints hinzu i_need id if_i ignore improve isn't it_for its
0.25 json keys let_me let_the limit_the line load loaded lose lose_their made make_it map match matched
0.25 memory messages mode mount names need needs negative no_it numbers objects of ok_but on only_for
0.25 other outside own page part path point prefix print_the progress query reading replace report
0.25 responses return rid rid_of safe same saved second settings show still stream streaming string strip
0.25 test_for that_it that_was the_body the_cache the_configuration the_connection the_default
0.25 the_environment the_exit the_host the_input the_number the_order the_other the_page the_second
0.25 the_user their thread trailing type_hints unknown urls use user_agent verify warum we_get were
0.25 when_it where_do where_is who_calls why_do why_does wird_das with without_a writes written
0.5 8 ^accept ^deprecate ^don't ^list ^make ^print ^remove ^rename ^then ^use ^who ^why ^wie ^wo ^как
0.5 accept all_the are_shown argument arrays as_a async at at_once at_the before but by_default bytes
0.5 cache call cli config context cookie date dates deprecate does_the expose for for_large for_that
0.5 from_a für has have how_does http2 i_add i_get if_the indentation is is_a is_missing is_still
0.5 is_this it it_should it_to know large larger larger_than limits links login make make_the method
0.5 missing module nothing notice number_of of_the off old on_windows option_to optional order_of où
0.5 params permissions print py register remove rename retry search several shown something sort sorted
0.5 the_cli the_log the_multipart the_parser the_request the_response the_same the_session then_the
0.5 there transport turn users what_do when_a when_is when_the where_are who wie wie_werden windows wo
0.5 как
0.75 ^allow ^but ^can ^does ^let ^log ^now ^speed ^translate ^which after after_a allow also and_the
0.75 can_i configurable constants cookies deprecation die each einen from_the if input les let log
0.75 multipart must of_a once order output parser proxies public records redirects response sont speed
0.75 speed_up test the_client the_output then timeout too translate undo up where which wird
1.0 ^implement ^it ^refactor ^support ^the add can de done drop exceptions export for_the from get
1.0 groups help here how how_is implement instead instead_of into limit maximum methods nested new
1.0 python_3 refactor session size stored the what_about what_happens
1.25 ^drop ^where are client default does_it hangs header how_are in_the los se startup url werden
1.5 ^and should support tests_for twice
1.75 happens when
"""

PHRASES: Final[Mapping[str, float]] = {
    phrase: float(weight)
    for weight, *phrases in map(str.split, _BY_WEIGHT.strip().split("\n"))
    for phrase in phrases
}
"""Weights of the phrases of a prompt (see `need.phrases_of`), in steps of a quarter."""
