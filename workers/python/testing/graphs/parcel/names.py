name = "parcel"
