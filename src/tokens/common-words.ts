/**
 * English words that tokenizers have whole, preceded by a space: one token each. They are the bulk of
 * English prose, and the reason why its estimate stays near the truth. Lower case, ten letters at most.
 * A test holds every word to the tokenizers; one that a tokenizer splits does not belong here.
 */
export const COMMON_WORDS: readonly string[] = `
  a abandoned able about above absence absolute absolutely accept accepted accepting accepts
  access accessed accessible accident according account accounts across act acting action actions
  active activity actual actually add added adding addition additional address addressed addresses
  adds advance advanced advantage advantages advice advise affair affairs affect affected afraid
  after afternoon afterwards again against age agent ago agree agreement air alarm algorithm alias
  align alive all allow allowed allowing allows almost alone along already also alt alternate
  although altogether always am among amount an analysis and angle announced anonymous another
  answer answered answers anxious any anyone anything anywhere app apparently appear appearance
  appeared appears applicable applied applies apply applying approach approached archive are area
  argument arguments around arranged array arrested arrived article articles as aside ask asked
  asking assert assigned assistance assistant associate associated assume assumed async at
  attached attempt attempted attempting attempts attention attribute attributes authority
  automatic available average avoid avoided await aware away back background backwards bad band
  bank bar bare base based be bearing beautiful became because become becomes bed been before
  began begin beginning begins behavior behaviour behind being believe bell belongs below beneath
  beside besides best better between beyond big binary binding bird bit black block blocked blood
  blue bodies body book books bool boolean boot border both bottom bound boundary box boxes branch
  branches break breakfast breaking breaks bright brilliant bring bringing broad broke broken
  brother brought brown browser buffer bug build building built bundle business busy but button
  buttons by byte cab cache calculated call callback called calling calls came can candidate
  cannot capable capacity capital capture card care careful carefully carriage carried carry
  carrying case cases catch category caught cause caused causes causing centre certain certainly
  chain chair chamber chance change changed changes changing channel chapter character characters
  charge charged check checked checking checks child children choose chosen chunk church circle
  claim class classes clean clear cleared clearly clever client clients clock clone close closed
  closely closing clothes cloud clue cluster coat code codes coffee cold collected collection
  color colors colour column columns combined come comes coming command commands comment comments
  commercial commission commit committed common commonly community companion company compared
  comparing comparison compatible compile compiled compiler complete completed completely
  completion complex component components composed compress computer concept concerned concerning
  conclusion condition conditions conduct confidence config configure configured confirm confused
  confusion connect connected connection consider considered consistent console const constant
  constants constraint consult contact contain contained containing contains content contents
  context continue continued continues contrary contrast control controlled controller convenient
  conversion convert converted convinced copied copies copy core corner correct corrected
  correctly cos cost could count country counts couple course court cover coverage covered crash
  create created creates creating creation creature credit cried crime criminal cross cry
  curiosity curious current currently cursor custom customer cut danger dangerous dark darkness
  dashed data database date dates daughter day days dead deal dear death debug decide decimal
  declared deep deeper deeply default defaults define defined defines defining definition delay
  delete deleted den denied depend dependency dependent depending depends derivative derived
  describe described describes designed desire desired destroy destroyed detail detailed details
  detect detected detection determine determined developed developers device dialog dictionary did
  died diff difference different difficult difficulty direct directed direction directions
  directly directory dirty disable disabled discover discovered discovery discuss disk display
  displayed displays distance distinct disturb divide division do doctor document documented does
  dog doing domain done door double doubt down download dozen draw drawing drawn dress dressed
  drew drive driven driver driving drop dropped drove due duplicate during duty dying each earlier
  early earth easier easily easy echo edge edit editing editor effect effective effects effort
  efforts eight either electronic element elements eleven else elsewhere email empty enable
  enabled enables encoded encoding end ended ending ends engaged engine engineer enough ensure
  enter entered entering entire entirely entity entries entry env equal equality equally
  equivalent err error errors escape escaped especially essential establish estate evaluated even
  evening event events eventually ever every everyone everything everywhere evidence exact exactly
  examine example examples excellent except exception exceptions exchange excitement exclude
  execute executed execution exercise exist existence existing exists exit exp expanded expect
  expected expecting expensive experience explain explained explaining explains explicit
  explicitly export exports exposed expressed expression extend extended extending extension
  extensions extent external extra extreme extremely eye eyes face facility fact factor factory
  facts fail failed failing fails failure fair fairly fall fallen false familiar families family
  fancy far farther fashion fast faster fatal father fault favour fear feature features fee feel
  feeling feet fell fellow felt fetch few field fields fifty figure figures file filename files
  fill filled filter final finally find finding finds fine finger fingers finish finished fire
  firm first fit five fix fixed flag flags flight floating floor flush focus folder follow
  followed following follows font foo foot for force forced forever forget forgot forgotten form
  format formats formed former formerly forming forth fortune forward found four fourth fragment
  frame framework free freedom freely frequently fresh friend friendly friends from front full
  fully func function functions further future gain gained garden gather gave general generally
  generate generated generating generation generator gentleman get gets getting girl git give
  given gives giving glad glance glass global go goes going gold gone good got granted great
  greater greatest green grew grey ground grounds group groups guard guess guide habit had hair
  half hall hand handed handle handled handler handling hands happen happened happens happy hard
  hardly has hash hat have having he head header headers heads health hear heard heart heavily
  heavy height held help helper her here herself hidden high higher highest highlight highly him
  himself his history hit hold holder holding home honour hook hope horror horse host hot hour
  hours house household houses how however huge human hundred hurried husband i idea ideal
  identical identified identifier identify identity idle if ignore ignored illegal image imagine
  immediate immense implement implements implicit import importance important imported imports
  impossible impression improved in incident include included includes including income incoming
  increased increasing indeed indent index indicate indicated indicates indicating indirect
  individual inf infinite influence info informed inherit initial inner input inputs insert
  inserted inside inspect install installed instance instances instant instantly instead int
  integer intended intention interest interested interests interface internal interrupt into
  introduce introduced invalid invoked involved is issue issues it item items its itself job join
  joined journey jump just keen keep keeping keeps kept key keys keyword keywords killed kind knew
  know knowing knowledge known knows label lady laid lamp land language languages large larger
  largest last late later latest latter laughed law laws lawyer lay layers lead leading learn
  learned least leave leaves leaving led left legacy legal length less let letter letters level
  libraries library license life light like likely limit limitation limited limits line lines link
  linked links lips list listed listen listened listener listening listing lists literal little
  live lived lives living load loaded loading local locale located location locations lock locked
  log logger logging logic logical long longer look looked looking looks loop loose lose losing
  loss lost lot love low lower lowest lying machine made mail main major make makes making man
  manage managed management manager manner manual manually many map mapping mark marked market
  marks marriage married mask massive master match matched matches matching material math matter
  matters maximum may me mean meaning means meant measured measures mechanism medical medium meet
  member members memory men mention mentioned menu mere merely merge message messages met metadata
  method methods middle might miles mind mine minimum minor minute minutes missed missing mistake
  mistaken mixed mod mode model modern modified modify module modules moment money month months
  more morning most mostly mother motion mouse move moved movement moves moving much multi
  multiple must my myself mystery name named names namespace narrow native natural naturally
  nature near nearest nearly necessary need needed needs negative neither nested net network never
  new newer newly news newspaper next nice nicely night nine no noble node non none nor normal
  normally not note noted notes nothing notice noticed now null number numbers object objects
  observe observed observer obtain obtained obvious obviously occasion occur occurred of off offer
  offered offers office official offset often old older on once one ones online only onto open
  opened opening operating operation operations operator opinion opposite option optional options
  opts or orange order ordered ordinary origin original other others otherwise ought our ourselves
  out outer output outside over overflow overhead override own owner pack package packages packet
  page pages paid pain pair pale paper papers paragraph parallel parameter parameters parent
  parents parse parsed parser part particular parties parts party pass passage passed passing
  password past patch path paths patient pattern patterns paused pay payload peculiar pending
  people per perfect perfectly perform performed performing perhaps permanent permission permit
  permitted person personal personally persons photograph phrase physical pick picked picture
  piece pieces pip pipe pipeline place placed places plain plan plans platform platforms play
  pleasant please pleasure plugin plugins pocket point pointed pointer pointing points polar
  police policy pool poor popular port portion position positions positive possession possible
  possibly post posted pounds power powerful powers practical practice pre precise precisely
  precision prefer preference preferred prefix prepare prepared presence present presented
  preserve preserved press pressed pressing pretty prevent previous previously price principal
  print printed prints prior priority prisoner private probable probably problem problems proceed
  process processed processes processing produce produced produces product production profession
  program programs progress project projects promise promised promises prompt proof proper
  properly properties property proposal protect protection protocol prototype prove provide
  provided provider provides providing provision proxy public publish published pull pulled purely
  purpose purposes push pushed pushing put putting python quarter query question questions quick
  quickly quiet quietly quite quote quotes raise raised raising ran random range rapidly rate
  rather reach reached read readily reading ready real really reason reasonable reasoning reasons
  recall receive received receiver receives receiving recent recently recognized recommend record
  recorded records recover recovered rect red redirect refer reference references referred refers
  refuse refused regardless regex region register registered registers registry regular rejected
  related relation relative release released releases relevant rely remain remainder remained
  remaining remains remark remarkable remarked remarks remember remembered remote remove removed
  removing renamed repeat repeated repeatedly replace replaced reply report reported reporting
  reports repository represent represents request requested requests require required requires res
  reset resolution resolve resolved resource resources respect response responses rest restore
  restored result resulting results retain retained retired return returned returning returns
  reverse rich right rights ring rising risk road room rooms root rose round route router routes
  routine row rule rules run running runs runtime safe safely safety said sake same sample sat
  satisfied satisfy save saved saving saw say saying says scattered scene schema scope scratch
  screen script scripts search searched searching second seconds secret section secure security
  see seeing seem seemed seems seen seized select selected selection self sell send sending sense
  sensitive sent sentence separate separated separately sequence series serious seriously serve
  served server serves service services session set sets setting settings settled seven several
  shadow shall shape share shared sharing sharp she sheet shell ship shook short shorter shortly
  shot should shoulder shoulders show showed showing shown shows side sides sight sign signal
  signature signed signs silence silent similar simple simpler simply sin since single singular
  sir sister sit site sitting situation six size sleep slice slight slightly slow slowly small
  smaller smoke snapshot so society socket software sole solution solve solved some someone
  something sometimes somewhat somewhere son soon sorry sort sound source sources space spaces
  speak special specific specified specify speech speed spell spend spent split spoke spoken
  spring square stable stack stage stand standard standing stands start started starting starts
  startup state stated statement statements states static station status stay step stepped steps
  still stone stood stop stopped store stored story straight strange stream streaming streams
  street streets strength strict strike string strings strong strongly struck struct structure
  stuff style subject submit submitted subsequent succeed succeeded success successful such sudden
  suddenly sufficient suggest suggested suit suite sum supplied supply support supported
  supporting supports suppose supposed sure surprise surprised surrounded switch symbol syntax
  system systems tab table tag tags take taken takes taking talk talked talking tall tan target
  targets task technical tell telling tells template temporary ten term terminal terms terrible
  test tested testing tests text than thank that the their them themselves then theory there
  therefore these they thick thin thing things think thinking third thirty this thoroughly those
  though thought thousand thousands thread threatened three threshold threw through throughout
  throw throwing thrown throws thrust thumb thus time timeout times timestamp tiny title to
  together token told too took tool tools top total touch touched towards town trace traces track
  tracks traffic trailing train transform transition translate transport trap treat treated tree
  trees trick tried trigger triggered trivial trouble true trust truth try trying turn turned
  turning twelve twenty twice two type typed types typically typing unable uncle undefined under
  underlying understand understood unexpected unique unknown unless unlike unlikely until unusual
  up update updated updates upon upper us usage use used useful useless user users uses using
  usual usually vague valid validation valuable value values variable variables variety various
  verify version versions very via view views violence visible visit visitor voice void volume
  wait waited waiting walk walked walking wall want wanted wants warning warnings was watch
  watched watching water way ways we weather web week weeks weight well went were what whatever
  wheel when whenever where whether which while white who whole whom whose why wide width wife
  wild will willing window windows wire wish wished wishes with within without witness woman won
  wonder wonderful wondering wooden word words work worked worker working works world worse worth
  would wouldn wrapped write writer writes writing written wrong wrote year years yellow yes
  yesterday yet you young your yours yourself zero
`
  .trim()
  .split(/\s+/)
