from superstep import main

main()
